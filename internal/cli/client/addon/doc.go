// Package addon has the commands that show the addons that clusters can have, and that switch those of a cluster. Only the root
// command enters it.
package addon
