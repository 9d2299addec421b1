import markdown from 'markdown-it'
import { Html, html } from '../html.ts'
import { outcome, type Translate } from '../layout.ts'

/** Tags in a text stay text, and so do addresses that are no web addresses. */
const reader = markdown({ html: false, linkify: false })

/** What a text calls its buttons, for front ends that make them of it. */
const buttons = /\[(?:CONFIRM|DECLINE)\]\([^)]*\)/g

export interface AnnouncementText {
  id: string
  title: string
  /** Undefined where it is missing. */
  text: string | undefined
  version: string | undefined
}

export const announcementBody = ({ text }: { text: string }): Html => new Html(reader.render(text.replace(buttons, '')))

/** What the person has still to accept, each with a button where there is a text. */
export const announcementList = (translate: Translate, pending: readonly AnnouncementText[]): Html => html`
${pending.map(
  (each) => html`<article class="notice">
<h2>${each.title}</h2>
${each.text === undefined ? html`<p>${translate('page.announcement.missing')}</p>` : offer(translate, { ...each, text: each.text })}
</article>`,
)}`

const offer = (translate: Translate, { id, text, version }: AnnouncementText & { text: string }): Html => html`
${announcementBody({ text })}
<form id="announcement-${id}" class="announcement" data-id="${id}" data-version="${version}"><button disabled>${translate('page.announcement.accept')}</button>${outcome}</form>`
