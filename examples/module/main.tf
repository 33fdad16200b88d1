terraform {
  required_version = ">= 1.3"
}

locals {
  text = "${var.greeting}, ${var.name}"
}

module "shout" {
  source = "./modules/shout"

  text = local.text
}
