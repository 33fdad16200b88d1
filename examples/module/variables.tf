variable "name" {
  description = "The name to greet."
  type        = string
  default     = "world"
}

variable "greeting" {
  description = "The word to greet with."
  type        = string
  default     = "Hello"

  validation {
    condition     = length(var.greeting) > 0
    error_message = "The greeting needs at least one character."
  }
}
