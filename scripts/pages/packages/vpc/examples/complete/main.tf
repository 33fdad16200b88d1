module "vpc" {
  source = "../.."

  name         = "production"
  cidr         = "10.20.0.0/16"
  zones        = ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
  nat_gateways = "none"

  endpoints = {
    s3  = { interface = false }
    sts = { security_groups = ["sg-0123456789abcdef0"] }
  }
}
