output "text" {
  description = "The greeting."
  value       = "${local.text}."
}

output "loud_text" {
  description = "The greeting, shouted."
  value       = module.shout.text
}
