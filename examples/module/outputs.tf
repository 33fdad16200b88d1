output "text" {
  description = "The greeting."
  value       = "${local.text}."
}

output "loud_text" {
  description = "The greeting in capitals, with an exclamation mark."
  value       = module.shout.text
}
