import { type Translate, translateError } from './errors.ts'
import { KeyStoreFailure } from './keystore.ts'
import { showKeyStoreNotice } from './keystore-notice.ts'

/** The element with this id; throws if the page has none. */
export function getElement<E extends HTMLElement = HTMLElement>(id: string): E {
  const found = document.getElementById(id)
  if (!found) throw new Error(`there is no element ${id}`)
  return found as E
}

export const getValue = (id: string) => getElement<HTMLInputElement>(id).value

/** The action of a button or form; the returned text is the outcome. */
type Step = () => Promise<string | undefined>

/** Asks the person whether to run a step. */
type Confirmation = () => Promise<boolean>
const always: Confirmation = async () => true

interface StatusElements {
  /** The element that is marked as busy. */
  busy: Element
  button: Element | null
  outcome: Element | null
}

/** Runs a step and shows its progress and outcome; ignores another click while it runs. */
async function runStep(translate: Translate, { busy, button, outcome }: StatusElements, step: Step): Promise<void> {
  if (busy.ariaBusy === 'true') return
  for (const old of document.querySelectorAll('.outcome')) showOutcome(old, '')
  busy.ariaBusy = 'true'
  // `disabled` would take the focus away.
  button?.setAttribute('aria-disabled', 'true')
  showOutcome(outcome, translate('page.working'))
  try {
    showOutcome(outcome, (await step()) ?? '')
  } catch (error) {
    showOutcome(outcome, translateError(translate, error), true)
    if (error instanceof KeyStoreFailure) showKeyStoreNotice(translate)
  } finally {
    busy.ariaBusy = null
    button?.removeAttribute('aria-disabled')
  }
}

function showOutcome(outcome: Element | null, text: string, isWrong = false): void {
  if (!outcome) return
  outcome.textContent = text
  outcome.classList.toggle('wrong', isWrong)
}

/**
 * Runs a step when the form is submitted, instead of sending the form. Buttons are disabled until this script enables
 * them, because the browser would send the passkey in a form to the server.
 */
export function onSubmit(translate: Translate, id: string, step: Step, confirm: Confirmation = always): void {
  const form = document.getElementById(id)
  const button = form?.querySelector('button') ?? null
  button?.removeAttribute('disabled')
  // An outcome refers to the earlier values.
  form?.addEventListener('input', () => {
    if (form.ariaBusy !== 'true') showOutcome(form.querySelector('.outcome'), '')
  })
  form?.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (await confirm()) await runStep(translate, { busy: form, button, outcome: form.querySelector('.outcome') }, step)
  })
}

/** Forbids pasting into fields with `data-typed`; a password manager can still fill them. */
export function refusePaste(): void {
  for (const field of document.querySelectorAll<HTMLInputElement>('input[data-typed]')) {
    field.addEventListener('beforeinput', (event) => {
      // Covers pasting, dropping, and yanking cut text.
      if (!event.inputType.startsWith('insertFrom')) return
      event.preventDefault()
      field.form?.querySelector('.outcome')?.replaceChildren(field.dataset['typed'] ?? '')
    })
  }
}

/** Shows a secret that the person must save, with a copy button if the browser has a clipboard API. */
export function showSecret(translate: Translate, id: string, text: string): void {
  const output = getElement(id)
  output.textContent = text
  output.parentElement?.removeAttribute('hidden')
  const button = output.parentElement?.querySelector('button')
  if (!button) return
  button.hidden = navigator.clipboard === undefined
  button.disabled = false
  button.onclick = () => copy(translate, text, button.parentElement?.querySelector('.outcome') ?? null)
}

async function copy(translate: Translate, text: string, outcome: Element | null): Promise<void> {
  const isCopied = await navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  )
  showOutcome(outcome, translate(isCopied ? 'page.copied' : 'page.copyFailed'), !isCopied)
}

export function hideSecret(id: string): void {
  const output = getElement(id)
  output.textContent = ''
  output.parentElement?.setAttribute('hidden', '')
}
