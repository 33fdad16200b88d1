module terrace.test/public-api

go 1.21

require github.com/hashicorp/terraform v0.12.31

require github.com/hashicorp/go-version v1.2.0 // indirect
