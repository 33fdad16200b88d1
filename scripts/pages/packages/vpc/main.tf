terraform {
  required_version = ">= 1.6"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.46, < 7.0"
    }
  }
}

locals {
  tiers = { public = 4, private = 3, database = 5 }
  nats  = { none = 0, single = 1, per_zone = length(var.zones) }
}

resource "aws_vpc" "this" {
  cidr_block           = var.cidr
  enable_dns_hostnames = true
  tags                 = merge(var.tags, { Name = var.name })
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id
}

resource "aws_subnet" "public" {
  for_each          = toset(var.zones)
  vpc_id            = aws_vpc.this.id
  availability_zone = each.key
  cidr_block        = cidrsubnet(var.cidr, local.tiers.public, index(var.zones, each.key))
  tags              = var.public_subnet_tags
}

resource "aws_subnet" "private" {
  for_each          = toset(var.zones)
  vpc_id            = aws_vpc.this.id
  availability_zone = each.key
  cidr_block        = cidrsubnet(var.cidr, local.tiers.private, 4 + index(var.zones, each.key))
  tags              = var.private_subnet_tags
}

resource "aws_nat_gateway" "this" {
  count     = local.nats[var.nat_gateways]
  subnet_id = aws_subnet.public[var.zones[count.index]].id
}

resource "aws_route_table" "private" {
  for_each = toset(var.zones)
  vpc_id   = aws_vpc.this.id
}

data "aws_region" "current" {}

module "endpoints" {
  source = "./modules/endpoints"

  vpc_id   = aws_vpc.this.id
  services = var.endpoints
}
