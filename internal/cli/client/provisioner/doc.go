// Package provisioner has the commands about provisioners and their credentials, which go in and do not come out. Only
// the root command enters it.
package provisioner
