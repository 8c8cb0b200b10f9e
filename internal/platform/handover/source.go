package handover

import _ "embed"

// Source is the code of this package. The programs of Kubernetes, which are modules of their own with upstream's dependencies and can
// import nothing from here, get a copy of it from kubernetes/generate.
//
//go:embed handover_linux.go
var Source string
