variable "text" {
  description = "What to shout."
  type        = string
}

output "text" {
  description = "The text in capitals, with an exclamation mark."
  value       = "${upper(trimsuffix(var.text, "!"))}!"
}
