package provision

import "encoding/json"

// Storer is a driver that keeps its clusters in a DataStore of this installation, which is an administrator's to give. It
// is no feature of a cluster, and not among [Features].
type Storer interface {
	// DataStore names it, for the parameters of a Provisioner, which may be nil. It is pure. Parameters that Ensure would
	// not take are an *invalid.Error.
	DataStore(provisionerParameters json.RawMessage) (string, error)
}
