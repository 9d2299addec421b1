import { Component, type ReactNode } from 'react'
import { t } from '../text/labels.ts'

interface SourceBoundaryProps {
  /** The text that is shown in place of children that cannot be rendered. */
  source: string
  children: ReactNode
}

interface BoundaryState {
  hasFailed: boolean
  source: string
}

/**
 * Shows the source of a text that cannot be rendered, so that one message never takes the page away from the others.
 * Renders again when the text changes.
 */
export class SourceBoundary extends Component<SourceBoundaryProps, BoundaryState> {
  override state: BoundaryState = { hasFailed: false, source: this.props.source }

  static getDerivedStateFromError(): Partial<BoundaryState> {
    return { hasFailed: true }
  }

  static getDerivedStateFromProps({ source }: SourceBoundaryProps, state: BoundaryState): BoundaryState | null {
    return source === state.source ? null : { hasFailed: false, source }
  }

  override render(): ReactNode {
    const { source, children } = this.props
    return this.state.hasFailed ? <Source text={source} /> : children
  }
}

/** A text as it was written. */
const Source = ({ text }: { text: string }) => (
  <div>
    <p className="hint">{t('app.markdown.source')}</p>
    <p className="plain-text" dir="auto">
      {text}
    </p>
  </div>
)
