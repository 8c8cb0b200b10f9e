// Package nodes has the commands about nodepools and single nodes: size, drain, replacement, and the command line with
// which another machine joins. What a machine does to join itself is in cli/node. Only the root command enters it.
package nodes
