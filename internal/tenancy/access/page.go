package access

// MaxPage is how much a list returns at most, and DefaultPage how much when the caller does not say.
const (
	MaxPage     = 500
	DefaultPage = 100
)

// Page says which part of a list is wanted.
type Page struct {
	// Limit is how much; 0 is DefaultPage, and more than MaxPage is MaxPage.
	Limit int
	// After is the Next of the part before; empty is the beginning.
	After string
}

// List is a part of a list, in the order of names or ids.
type List[T any] struct {
	Items []T
	// Next is the After of what follows; empty when nothing does.
	Next string
}

func (p Page) limit() int {
	if p.Limit <= 0 {
		return DefaultPage
	}
	return min(p.Limit, MaxPage)
}

// cut makes a part of a list out of one row more than was asked for.
func cut[T any](items []T, page Page, key func(T) string) List[T] {
	if limit := page.limit(); len(items) > limit {
		return List[T]{Items: items[:limit], Next: key(items[limit-1])}
	}
	return List[T]{Items: items}
}
