// Package addresses gives Services of type LoadBalancer addresses, and answers for them in the network of the nodes.
package addresses
