// Package access has the commands about who the user is and who may sign in: login and logout, contexts, passwords,
// tokens, devices, users, service accounts and identity providers. Only the root command enters it.
package access
