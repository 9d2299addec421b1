interface StateProps {
  kind: 'ok' | 'warn' | 'wrong' | 'idle'
  children: string
}

/** In which state something is: a word, with a mark of its colour. */
export const State = ({ kind, children }: StateProps) => <span className={`state ${kind}`}>{children}</span>
