import { useEffect, useRef, useState } from 'react'

/** A formula. Until it is drawn, and where it cannot be, its source is shown. */
export function Formula({ tex, isBlock }: { tex: string; isBlock: boolean }) {
  const target = useRef<HTMLSpanElement>(null)
  const [isDrawn, setDrawn] = useState(false)
  useEffect(() => {
    let isGone = false
    import('./maths.ts')
      .then(({ renderMaths }) => {
        if (isGone || !target.current) return
        renderMaths(target.current, tex, isBlock)
        setDrawn(true)
      })
      // What is no formula, or whose chunk is missing, stays readable as it is written.
      .catch(() => setDrawn(false))
    return () => {
      isGone = true
    }
  }, [tex, isBlock])
  return (
    <span className={isBlock ? 'formula block' : 'formula'}>
      <span ref={target} />
      {!isDrawn && <code>{tex}</code>}
    </span>
  )
}
