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
  text: string
  version: string | undefined
}

export const announcementBody = ({ text }: Pick<AnnouncementText, 'text'>): Html =>
  new Html(reader.render(text.replace(buttons, '')))

/** What the person has still to accept, each with a button. */
export const announcementList = (translate: Translate, pending: readonly AnnouncementText[]): Html => html`
${pending.map(
  (each) => html`<article class="notice">
<h2>${each.title}</h2>
${announcementBody(each)}
<form id="announcement-${each.id}" class="announcement" data-id="${each.id}" data-version="${each.version}"><button disabled>${translate('page.announcement.accept')}</button>${outcome}</form>
</article>`,
)}`
