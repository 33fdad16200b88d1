# Uses the example provider and the example module from the registry that `npm start` runs.

terraform {
  required_version = ">= 1.3"

  required_providers {
    hello = {
      source  = "127.0.0.1:8787/acme/hello"
      version = "~> 0.1"
    }
  }
}

variable "name" {
  description = "The name to greet."
  type        = string
  default     = "Ada"
}

data "hello_greeting" "from_provider" {
  name = var.name
}

module "greeting" {
  source  = "127.0.0.1:8787/acme/greeting/hello"
  version = "~> 0.1"

  name     = var.name
  greeting = "Welcome"
}

module "shout" {
  source  = "127.0.0.1:8787/acme/greeting/hello//modules/shout"
  version = "~> 0.1"

  text = data.hello_greeting.from_provider.message
}

output "from_provider" {
  description = "The greeting of the provider."
  value       = data.hello_greeting.from_provider.message
}

output "from_module" {
  description = "The greeting of the module."
  value       = module.greeting.text
}

output "from_submodule" {
  description = "The provider's greeting in upper case, by the module's submodule."
  value       = module.shout.text
}

output "provider" {
  description = "Which build of the provider ran."
  value = format(
    "%s %s",
    data.hello_greeting.from_provider.provider_version,
    data.hello_greeting.from_provider.platform,
  )
}
