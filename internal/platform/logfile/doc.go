// Package logfile reads logs as their user asks for them: the last lines, those since a moment, and what comes next. It knows
// how the programs that KQueen runs write the time, and follows a log through its rotation, be that by renaming or by truncation.
//
// Every package may import it; it imports none and writes to no log.
package logfile
