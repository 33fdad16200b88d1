variable "vpc_id" {
  description = "ID of the network"
  type        = string
}

variable "services" {
  description = "Services, by their short names such as `s3`"
  type        = map(any)
}

resource "aws_vpc_endpoint" "this" {
  for_each     = var.services
  vpc_id       = var.vpc_id
  service_name = each.key
}
