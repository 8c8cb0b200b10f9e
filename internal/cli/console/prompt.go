package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"kqueen.io/kqueen/internal/cli/exit"
)

// maxTyped is how much is read of what the user types or pipes in, in bytes.
const maxTyped = 4096

// ErrNoTerminal says that the user has to be asked and there is no terminal.
var ErrNoTerminal = exit.Fail(exit.Usage, "there is no terminal to ask on; give --username with --password-stdin, or --token-stdin; or sign in with a browser, by --browser or --device")

// Prompt asks for a line.
func (c *Console) Prompt(ctx context.Context, text string) (string, error) {
	if !IsTerminal(c.Stdin) {
		return "", ErrNoTerminal
	}
	fmt.Fprint(c.Stderr, text)
	line, err := unlessDone(ctx, func() (string, error) { return ReadLine(c.Stdin) })
	if err != nil {
		return "", fmt.Errorf("read from the terminal: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// unlessDone reads until the context ends, by which the user interrupts.
func unlessDone(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-done:
		return r.text, r.err
	}
}

// ReadLine reads byte by byte, so that it takes nothing of what is for the next question.
func ReadLine(in io.Reader) (string, error) {
	var line []byte
	one := make([]byte, 1)
	for len(line) < maxTyped {
		n, err := in.Read(one)
		ended := n == 1 && one[0] == '\n'
		if !ended {
			line = append(line, one[:n]...) // which may come with the end of the input
			ended = errors.Is(err, io.EOF) && len(line) > 0
		}
		if ended {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("it is longer than %d bytes", maxTyped)
}

// PromptSecret asks for a line that is not shown. A user who interrupts gets the terminal back as it was.
func (c *Console) PromptSecret(ctx context.Context, text string) (string, error) {
	file, ok := c.Stdin.(*os.File)
	if !ok || !IsTerminal(file) {
		return "", ErrNoTerminal
	}
	fmt.Fprint(c.Stderr, text)
	terminal := int(file.Fd())
	before, err := term.GetState(terminal)
	if err != nil {
		return "", fmt.Errorf("read from the terminal: %w", err)
	}
	secret, err := unlessDone(ctx, func() (string, error) {
		secret, err := term.ReadPassword(terminal)
		return string(secret), err
	})
	fmt.Fprintln(c.Stderr)
	if err != nil {
		return "", errors.Join(fmt.Errorf("read from the terminal: %w", err), term.Restore(terminal, before))
	}
	return secret, nil
}

// PromptNewPassword asks twice, because users do not see what they type.
func (c *Console) PromptNewPassword(ctx context.Context) (string, error) {
	first, err := c.PromptSecret(ctx, "New password: ")
	if err != nil {
		return "", err
	}
	second, err := c.PromptSecret(ctx, "Once more: ")
	if err == nil && first != second {
		err = errors.New("the two passwords differ; nothing was done")
	}
	return first, err
}

// SecretFromFile reads a secret that a user names by a file, the first line of which it is; for "-" that of standard input, of which
// the rest is left. On a terminal the user is asked for it by text.
func (c *Console) SecretFromFile(ctx context.Context, file, what, text string) (string, error) {
	if file == "-" && IsTerminal(c.Stdin) {
		return c.PromptSecret(ctx, text)
	}
	in := c.Stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return "", exit.Fail(exit.Usage, "read the %s: %w", what, err)
		}
		defer opened.Close()
		in = opened
	}
	line, err := ReadLine(in)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	if line = strings.TrimSpace(line); line == "" {
		return "", exit.Fail(exit.Usage, "read the %s: there is none on the first line of %s", what, fileOrStdin(file))
	}
	return line, nil
}

func fileOrStdin(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// SecretFromStdin reads a secret that is piped in: all of it, but for one line end.
func (c *Console) SecretFromStdin(what string) (string, error) {
	text, err := c.readTyped(what)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	switch {
	case secret == "":
		return "", exit.Fail(exit.Usage, "read the %s: standard input is empty", what)
	case strings.ContainsAny(secret, "\r\n"):
		return "", exit.Fail(exit.Usage, "read the %s: standard input has more than one line", what)
	}
	return secret, nil
}

// readTyped reads standard input whole, which may be as long as what the user types.
func (c *Console) readTyped(what string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(c.Stdin, maxTyped+1))
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	if len(data) > maxTyped {
		return "", exit.Fail(exit.Usage, "read the %s: it is longer than %d bytes", what, maxTyped)
	}
	return string(data), nil
}
