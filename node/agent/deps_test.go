package main

import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/nftables"
	_ "k8s.io/klog/v2"
	_ "sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)
