variable "text" {
  description = "The text to put in capitals."
  type        = string
}

output "text" {
  description = "The text in capitals, with an exclamation mark."
  value       = "${upper(trimsuffix(var.text, "!"))}!"
}
