// Package volumes makes and deletes the volumes of one node.
package volumes
