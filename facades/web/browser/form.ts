import { explain, type Translate } from './errors.ts'

/** An element that the page has for sure. */
export function element<E extends HTMLElement = HTMLElement>(id: string): E {
  const found = document.getElementById(id)
  if (!found) throw new Error(`there is no element ${id}`)
  return found as E
}

export const entered = (id: string) => element<HTMLInputElement>(id).value

/** What a step returns is said when it is done. */
export type Step = () => Promise<string | undefined>

/** Asks whether to begin at all. */
export type Sure = () => Promise<boolean>
export const always: Sure = async () => true

interface Place {
  /** What is busy meanwhile. */
  busy: Element
  button: Element | null
  outcome: Element | null
}

/** Carries out a step, and says so from its beginning to its end. One that has begun is not begun again. */
export async function work(translate: Translate, { busy, button, outcome }: Place, step: Step): Promise<void> {
  if (busy.ariaBusy === 'true') return
  for (const old of document.querySelectorAll('.outcome')) tell(old, '')
  busy.ariaBusy = 'true'
  // Not `disabled`: that would take the focus away.
  button?.setAttribute('aria-disabled', 'true')
  tell(outcome, translate('page.working'))
  try {
    tell(outcome, (await step()) ?? '')
  } catch (error) {
    tell(outcome, explain(translate, error), true)
  } finally {
    busy.ariaBusy = null
    button?.removeAttribute('aria-disabled')
  }
}

export function tell(outcome: Element | null, text: string, wrong = false): void {
  if (!outcome) return
  outcome.textContent = text
  outcome.classList.toggle('wrong', wrong)
}

/**
 * Carries out a form in place of the browser. Pages come with their buttons off: sent by the browser itself, a passkey
 * would leave it.
 */
export function onSubmit(translate: Translate, id: string, step: Step, sure: Sure = always): void {
  const form = document.getElementById(id)
  const button = form?.querySelector('button') ?? null
  button?.removeAttribute('disabled')
  form?.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (await sure()) await work(translate, { busy: form, button, outcome: form.querySelector('.outcome') }, step)
  })
}

/** Fills a part of the page that comes empty, or says there why it could not. */
export async function fill(translate: Translate, id: string, step: () => Promise<void>): Promise<void> {
  const part = element(id)
  try {
    await step()
  } catch (error) {
    const line = document.createElement(part.tagName === 'UL' ? 'li' : 'p')
    tell(line, explain(translate, error), true)
    part.replaceChildren(line)
  } finally {
    part.ariaBusy = null
  }
}
