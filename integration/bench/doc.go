// Package bench holds the benchmarks of the built program.
//
// Ratios to a raw connection in the same run are the metrics named x-raw. task bench prints a table of the main ones,
// task bench:all runs all. Package lab starts the program.
package bench
