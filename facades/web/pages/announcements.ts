import markdown from 'markdown-it'
import { Html } from '../html.ts'

/** HTML tags are escaped, and only web addresses become links. */
const reader = markdown({ html: false, linkify: false })

/** Markers that front ends turn into buttons. */
const buttons = /\[(?:CONFIRM|DECLINE)\]\([^)]*\)/g

export const announcementBody = ({ text }: { text: string }): Html => new Html(reader.render(text.replace(buttons, '')))
