import type { Translate } from './errors.ts'
import { element, showOutcome } from './form.ts'

/** Shows a secret that the person must save, with a copy button if the browser has a clipboard API. */
export function showSecret(translate: Translate, id: string, text: string): void {
  const output = element(id)
  output.textContent = text
  output.parentElement?.removeAttribute('hidden')
  const button = output.parentElement?.querySelector('button')
  if (!button) return
  button.hidden = navigator.clipboard === undefined
  button.disabled = false
  button.onclick = () => copy(translate, text, button.parentElement?.querySelector('.outcome') ?? null)
}

async function copy(translate: Translate, text: string, outcome: Element | null): Promise<void> {
  const copied = await navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  )
  showOutcome(outcome, translate(copied ? 'page.copied' : 'page.copyFailed'), !copied)
}

export function hideSecret(id: string): void {
  const output = element(id)
  output.textContent = ''
  output.parentElement?.setAttribute('hidden', '')
}
