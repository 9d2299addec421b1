interface Question {
  title: string
  text: string
  yes: string
  no: string
}

/**
 * Asks for confirmation of what cannot be undone. A native dialog keeps the focus inside, closes on Escape and returns
 * the focus; "no" comes first and has the focus at the start.
 */
export function confirmed({ title, text, yes, no }: Question): Promise<boolean> {
  const dialog = document.createElement('dialog')
  dialog.setAttribute('aria-labelledby', 'dialog-title')
  dialog.setAttribute('aria-describedby', 'dialog-text')
  const form = document.createElement('form')
  form.method = 'dialog'
  const answers = Object.assign(document.createElement('p'), { className: 'actions' })
  answers.append(answer(no, '', 'quiet'), answer(yes, 'yes', 'danger'))
  form.append(
    Object.assign(document.createElement('h2'), { id: 'dialog-title', textContent: title }),
    Object.assign(document.createElement('p'), { id: 'dialog-text', textContent: text }),
    answers,
  )
  dialog.append(form)
  document.body.append(dialog)
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(dialog.returnValue === 'yes')
    })
    dialog.showModal()
  })
}

const answer = (text: string, value: string, className: string) =>
  Object.assign(document.createElement('button'), { textContent: text, value, className })
