import type { LabelProps } from '@patternfly/react-core'
import type { CSSProperties, HTMLAttributes, ReactNode, Ref } from 'react'

interface MarkProps extends HTMLAttributes<HTMLSpanElement> {
  status?: LabelProps['status']
  color?: LabelProps['color']
  variant?: 'filled' | 'outline'
  isCompact?: boolean
  icon?: ReactNode
  /** What is longer ends in dots. */
  mostWidth?: string
  children: string
  ref?: Ref<HTMLSpanElement>
}

/**
 * Mark looks as PatternFly's Label and does nothing: that one measures itself and listens to all keys of the page, which tables with hundreds
 * of them take long to make. Its styles come with the palette, which every page has.
 */
export function Mark(props: MarkProps) {
  const { status, color, variant = 'filled', isCompact = true, icon, mostWidth, children, ...rest } = props
  const looks = [`pf-m-${variant}`, isCompact && 'pf-m-compact', color && `pf-m-${color}`, status && `pf-m-${status}`]
  return (
    <span {...rest} className={['pf-v6-c-label', ...looks].filter(Boolean).join(' ')}>
      <span className="pf-v6-c-label__content">
        {icon && <span className="pf-v6-c-label__icon">{icon}</span>}
        <span
          className="pf-v6-c-label__text"
          style={mostWidth ? ({ '--pf-v6-c-label__text--MaxWidth': mostWidth } as CSSProperties) : undefined}
        >
          {children}
        </span>
      </span>
    </span>
  )
}
