/** An element that the page has for sure. */
export function element<E extends HTMLElement = HTMLElement>(id: string): E {
  const found = document.getElementById(id)
  if (!found) throw new Error(`there is no element ${id}`)
  return found as E
}

export const entered = (id: string) => element<HTMLInputElement>(id).value

/**
 * Carries out a form in place of the browser. What the step returns is said below it; while it lasts, the button waits.
 * Pages come with their buttons off: sent by the browser itself, a passkey would leave it.
 */
export function onSubmit(
  id: string,
  step: () => Promise<string | undefined>,
  failed: (error: unknown) => string,
): void {
  const form = document.getElementById(id)
  form?.querySelector('button')?.removeAttribute('disabled')
  form?.addEventListener('submit', async (event) => {
    event.preventDefault()
    const button = form.querySelector('button')
    const outcome = form.querySelector('.outcome')
    const say = (text: string, wrong: boolean) => {
      if (!outcome) return
      outcome.textContent = text
      outcome.classList.toggle('wrong', wrong)
    }
    button?.setAttribute('disabled', '')
    try {
      say((await step()) ?? '', false)
    } catch (error) {
      say(failed(error), true)
    } finally {
      button?.removeAttribute('disabled')
    }
  })
}
