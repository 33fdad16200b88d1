module terrace.test/go-oracles

go 1.26.0

require github.com/ProtonMail/go-crypto v1.1.3

require (
	github.com/cloudflare/circl v1.6.3 // indirect
	golang.org/x/crypto v0.41.0 // indirect
	golang.org/x/sys v0.35.0 // indirect
)
