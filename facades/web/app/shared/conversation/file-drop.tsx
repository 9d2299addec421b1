import { type RefObject, useEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { t } from '../text/labels.ts'
import { Icon } from '../ui/icon.tsx'
import styles from './file-drop.module.css'

interface DropTarget {
  form: HTMLFormElement
  add: (files: File[]) => void
  /** Shows that files will be attached here, or no longer. */
  show: (isShown: boolean) => void
}

const targets = new Set<DropTarget>()

const findPanel = ({ form }: DropTarget) => form.closest('aside')

/** Returns the form of the panel that files are dragged over, or else the form of the page. */
function findTarget({ target }: DragEvent): DropTarget | undefined {
  if (!(target instanceof Element) || target.closest('[role="dialog"], [role="alertdialog"]')) return undefined
  const all = [...targets]
  return all.find((each) => findPanel(each)?.contains(target)) ?? all.find((each) => !findPanel(each))
}

/** Returns true for files that no other element takes. */
const isForPage = ({ target, dataTransfer, defaultPrevented }: DragEvent): boolean =>
  !defaultPrevented &&
  (dataTransfer?.types.includes('Files') ?? false) &&
  !(target instanceof Element && target.closest('input[type="file"]'))

/** Browsers repeat the event while files are dragged, every 350 ms at the longest. */
const OVER_MS = 700

let shown: DropTarget | undefined
let timer: ReturnType<typeof setTimeout> | undefined

function showTarget(target: DropTarget | undefined): void {
  clearTimeout(timer)
  if (target) timer = setTimeout(() => showTarget(undefined), OVER_MS)
  if (target === shown) return
  shown?.show(false)
  shown = target
  target?.show(true)
}

addEventListener('dragover', (event) => {
  const target = isForPage(event) ? findTarget(event) : undefined
  showTarget(target)
  if (!isForPage(event) || !event.dataTransfer) return
  event.preventDefault()
  event.dataTransfer.dropEffect = target ? 'copy' : 'none'
})

// Without this a browser would leave the page and show the file.
addEventListener('drop', (event) => {
  showTarget(undefined)
  if (!isForPage(event)) return
  event.preventDefault()
  const files = [...(event.dataTransfer?.files ?? [])]
  if (files.length > 0) findTarget(event)?.add(files)
})

interface FileDropProps {
  form: RefObject<HTMLFormElement | null>
  add: DropTarget['add']
}

/** Attaches files that are dropped anywhere on the page, or on the panel of the form, and shows that while they are dragged. */
export function FileDrop({ form, add }: FileDropProps) {
  const [area, setArea] = useState<DOMRect>()
  const latest = useRef(add)
  latest.current = add
  useEffect(() => {
    const element = form.current
    if (!element) return
    const target: DropTarget = {
      form: element,
      add: (files) => latest.current(files),
      show: (isShown) => setArea(isShown ? element.closest('aside, main')?.getBoundingClientRect() : undefined),
    }
    targets.add(target)
    return () => void targets.delete(target)
  }, [form])
  if (!area) return null
  const { top, left, width, height } = area
  return createPortal(
    <div className={styles.area} style={{ top, left, width, height }}>
      <p className={styles.words}>
        <Icon name="attach" /> {t('app.files.drop')}
      </p>
    </div>,
    document.body,
  )
}
