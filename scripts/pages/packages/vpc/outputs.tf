output "vpc_id" {
  description = "ID of the network"
  value       = aws_vpc.this.id
}

output "private_subnet_ids" {
  description = "IDs of the private subnets, by zone"
  value       = { for zone, subnet in aws_subnet.private : zone => subnet.id }
}

output "public_subnet_ids" {
  description = "IDs of the public subnets, by zone"
  value       = { for zone, subnet in aws_subnet.public : zone => subnet.id }
}

output "nat_addresses" {
  description = "Public addresses from which private subnets reach the internet"
  value       = aws_nat_gateway.this[*].public_ip
}
