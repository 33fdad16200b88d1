module "vpc" {
  source = "../.."

  name  = "simple"
  cidr  = "10.0.0.0/20"
  zones = ["eu-central-1a"]
}
