variable "vpc_id" {
  description = "ID of the network"
  type        = string
}

variable "traffic" {
  description = "Recorded connections: `ACCEPT`, `REJECT` or `ALL`"
  type        = string
  default     = "REJECT"
}

resource "aws_flow_log" "this" {
  vpc_id       = var.vpc_id
  traffic_type = var.traffic
}
