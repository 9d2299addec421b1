import { useLayoutEffect, useRef, useState } from 'react'

type Maths = typeof import('./maths.ts')

/** The renderer of formulas, loaded by the first one. */
let maths: Maths | undefined

/** A formula. Until it is drawn, and where it cannot be, its source is shown. */
export function Formula({ tex, isBlock }: { tex: string; isBlock: boolean }) {
  const target = useRef<HTMLSpanElement>(null)
  const [isDrawn, setDrawn] = useState(maths !== undefined)
  useLayoutEffect(() => {
    let isGone = false
    const draw = ({ renderMaths }: Maths) => {
      if (isGone || !target.current) return
      try {
        renderMaths(target.current, tex, isBlock)
        setDrawn(true)
      } catch {
        // Source that is no formula stays readable as it is written.
        setDrawn(false)
      }
    }
    if (maths) draw(maths)
    else
      import('./maths.ts').then(
        (loaded) => {
          maths = loaded
          draw(loaded)
        },
        // Without what draws it, it stays as it is written.
        () => undefined,
      )
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
