// Package audit has the commands that read, export and check the audit log. The key that checks an export is on the
// server host: the root command hands in who has it, and alone enters.
package audit
