// Package organization has the commands about organizations, their members and their quota. Only the root command
// enters it.
package organization
