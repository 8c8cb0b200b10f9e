package backup

import "strings"

// present are the keys that say how the machines of a cluster are now, and not what its users want. A restore leaves them: nodes that
// came or went after the backup are as they are, and so is how they sign in.
var present = []string{
	"minions/",
	"csinodes/",
	"leases/kube-node-lease/",
	"certificatesigningrequests/",
	"secrets/kube-system/bootstrap-token-",
	"masterleases/",
	"events/",
}

// Stays says whether a restore leaves a key as it is, so that its changes are of no use. It is pure.
func Stays(key string) bool {
	for _, prefix := range present {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
