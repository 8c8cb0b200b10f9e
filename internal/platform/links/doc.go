// Package links removes network links. The kernel removes one end of a pair when the network of the other one is gone, some time
// after its last process, which on a busy host is seconds: a link may go between finding and removing it, and is removed then.
package links
