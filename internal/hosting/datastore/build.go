package datastore

import "go.etcd.io/etcd/api/v3/version"

// Build is the etcd that KQueen itself is, in words: an upgrade to a KQueen that is another one restarts it.
func Build() string { return "etcd " + BuildVersion() }

// BuildVersion is its version, such as "3.7.3".
func BuildVersion() string { return version.Version }
