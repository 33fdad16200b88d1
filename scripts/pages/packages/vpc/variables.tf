variable "name" {
  description = "Name of the network, and prefix of the names of everything in it"
  type        = string
}

variable "cidr" {
  description = "IPv4 block of the network, from /16 to /22"
  type        = string

  validation {
    condition     = can(cidrhost(var.cidr, 0))
    error_message = "The block must have the form 10.20.0.0/16."
  }
}

variable "zones" {
  description = "Availability zones, in the order of their address ranges: append new ones at the end"
  type        = list(string)
}

variable "nat_gateways" {
  description = "NAT gateways: `none`, `single` for all zones, or `per_zone`"
  type        = string
  default     = "per_zone"
}

variable "endpoints" {
  description = "AWS services that are reached without the internet, with the security groups of their endpoints"
  type = map(object({
    interface       = optional(bool, true)
    security_groups = optional(list(string), [])
  }))
  default = {
    s3 = { interface = false }
  }
}

variable "database_subnets" {
  description = "Whether the network has subnets without a route to the internet"
  type        = bool
  default     = true
}

variable "flow_logs_bucket" {
  description = "ARN of the bucket for flow logs; without it there are none"
  type        = string
  default     = null
}

variable "peering_secret" {
  description = "Shared secret of the transit peering"
  type        = string
  default     = null
  sensitive   = true
}

variable "private_subnet_tags" {
  description = "Tags of the private subnets"
  type        = map(string)
  default     = { "kubernetes.io/role/internal-elb" = "1" }
}

variable "public_subnet_tags" {
  description = "Tags of the public subnets"
  type        = map(string)
  default     = { "kubernetes.io/role/elb" = "1" }
}

variable "tags" {
  description = "Tags of all resources"
  type        = map(string)
  default     = {}
}
