import markdown from 'markdown-it'
import { Html } from '../html.ts'

/** Tags in a text stay text, and so do addresses that are no web addresses. */
const reader = markdown({ html: false, linkify: false })

/** What a text calls its buttons, for front ends that make them of it. */
const buttons = /\[(?:CONFIRM|DECLINE)\]\([^)]*\)/g

export const announcementBody = ({ text }: { text: string }): Html => new Html(reader.render(text.replace(buttons, '')))
