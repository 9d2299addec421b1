import { useLayoutEffect, useRef, useState } from 'react'

type FormulaRenderer = typeof import('./maths.ts')

/** The renderer, which is loaded with the first formula. */
let formulaRenderer: FormulaRenderer | undefined

/** Shows a formula, or its source until it is rendered and if it cannot be. */
export function Formula({ tex, isBlock }: { tex: string; isBlock: boolean }) {
  const target = useRef<HTMLSpanElement>(null)
  const [isDrawn, setDrawn] = useState(formulaRenderer !== undefined)
  useLayoutEffect(() => {
    let isGone = false
    const draw = ({ renderFormula: renderMaths }: FormulaRenderer) => {
      if (isGone || !target.current) return
      try {
        renderMaths(target.current, tex, isBlock)
        setDrawn(true)
      } catch {
        // Invalid TeX is shown as source.
        setDrawn(false)
      }
    }
    if (formulaRenderer) draw(formulaRenderer)
    else
      import('./maths.ts').then(
        (loaded) => {
          formulaRenderer = loaded
          draw(loaded)
        },
        // The source stays visible when the renderer cannot be loaded.
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
