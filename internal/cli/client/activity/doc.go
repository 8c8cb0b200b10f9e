// Package activity has the commands about what happens in an organization: its events, and the operations that are
// under way. Only the root command enters it.
package activity
