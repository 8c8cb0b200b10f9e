// Package acme has the objects of an ACME server, none of which this program has.
package acme

// Account at a server.
type Account struct{}

// ExtendedAccount is an account and its address.
type ExtendedAccount struct {
	Account

	Location string
}
