// Package confine takes from programs of this host what they do not need: root's user, every capability, other files
// than their own, system calls that they do not make, connections but to where they have to, and more memory, processors
// and processes than they are given.
//
// It hides how Linux does each of that: mounts that one program sees ([Program]), capability sets, seccomp, cgroups of
// both versions ([Group]), the packet filter ([Wall]), and what the kernel ends first when memory runs out ([Score]). [Able] says whether a host
// lets KQueen do it. Package supervise imports it, and what protects KQueen itself.
//
// What is set for a thread is inherited by what it starts: [Program.Enter] changes the calling thread, from which the
// program is started next. That saves a program between the two, and leaves no moment in which the new one has more.
package confine
