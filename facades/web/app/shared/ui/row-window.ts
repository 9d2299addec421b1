import { useLayoutEffect, useMemo, useState } from 'react'

/** Pixels before and after the view in which rows are in the document as well. */
const MARGIN = 300

interface RowRange {
  first: number
  /** The index after the last row. */
  end: number
}

const NO_ROWS: RowRange = { first: 0, end: 0 }

interface RowWindowOptions {
  /** The element around the rows; null while it is not in the document. */
  list: HTMLElement | null
  /** The element that scrolls; its children are observed, as the list moves when one before it grows. */
  scroller: HTMLElement | null
  /** The height of each row in pixels. */
  heights: readonly number[]
}

/** Selects the rows of a long list that are in the document: those in view and some around them. */
export function useRowWindow({ list, scroller, heights }: RowWindowOptions) {
  const [{ first, end }, setRange] = useState(NO_ROWS)
  const { tops, height } = useMemo(() => addUp(heights), [heights])
  useLayoutEffect(() => {
    if (!list || !scroller) return
    const update = () => {
      const range = findRows(tops, list.getBoundingClientRect().top, scroller.getBoundingClientRect())
      setRange((shown) => (shown.first === range.first && shown.end === range.end ? shown : range))
    }
    update()
    const sizes = new ResizeObserver(update)
    for (const element of [scroller, ...scroller.children]) sizes.observe(element)
    scroller.addEventListener('scroll', update, { passive: true })
    return () => {
      sizes.disconnect()
      scroller.removeEventListener('scroll', update)
    }
  }, [list, scroller, tops])
  const rows = tops.slice(first, end).map((top, index) => ({ index: first + index, top }))
  return { rows, height, isAtEnd: end >= tops.length }
}

/** Adds up the heights: the distance of each row from the first one, and the height of all. */
function addUp(heights: readonly number[]) {
  let height = 0
  const tops = heights.map((each) => {
    height += each
    return height - each
  })
  return { tops, height }
}

/** Finds the rows near the view. A hidden list has none. */
function findRows(tops: readonly number[], listTop: number, view: DOMRect): RowRange {
  if (view.height === 0) return NO_ROWS
  const [from, to] = [view.top - listTop - MARGIN, view.bottom - listTop + MARGIN]
  const end = tops.findIndex((top) => top > to)
  return {
    first: Math.max(
      0,
      tops.findLastIndex((top) => top <= from),
    ),
    end: end === -1 ? tops.length : end,
  }
}
